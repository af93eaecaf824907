"""What a private run must not forget: its transcript, its hooks' memory, and what it has paid.

The engine saves this with its own state and is not restored without it (`pvi.Companion`).
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from accountants import validate
from accountants.arrays import FloatArray
from mechanisms import books as bookkeeping
from mechanisms import transcript_file
from mechanisms.budgeted_schedule import BudgetedSchedule
from mechanisms.release import SERVER, Contribution, Release, ServerNoise
from pvi import Apply, CheckpointError, Packed

if TYPE_CHECKING:
    from mechanisms.private_run import Recorder


class Hook(Protocol):
    """What clips for one client.

    Attributes:
      screened: How many contributions were not finite and became zero.
    """

    screened: int

    @property
    def memory(self) -> dict[str, FloatArray]:
        """What later messages depend on."""
        ...

    @memory.setter
    def memory(self, memory: dict[str, FloatArray]) -> None: ...


class RunState:
    """The companion of a run's engine.

    With a budget, releases that were paid for after the save are known by their receipts. They may
    have been made before the run died, so they enter the transcript, without values. Without one,
    what was released after the save is known to nobody: save before a release is acted upon.

    Args:
      recorder: Where releases are collected.
      contributions: Each client's facts.
      server_noise: What the server adds.
      hooks: What clips, for each client.
      schedule: The schedule that pays, if there is a budget.
    """

    def __init__(
        self,
        recorder: "Recorder",
        contributions: Sequence[Contribution],
        *,
        server_noise: ServerNoise | None = None,
        hooks: Sequence[Hook] = (),
        schedule: BudgetedSchedule | None = None,
    ) -> None:
        self._recorder = recorder
        self._contributions = tuple(contributions)
        self._server_noise = server_noise or ServerNoise()
        self._sources: list[Contribution | ServerNoise] = [*contributions, self._server_noise]
        self._hooks = tuple(hooks)
        self._schedule = schedule

    @property
    def kind(self) -> str:
        """Its name in a checkpoint."""
        return "transcript and budget"

    def pack(self) -> Packed:
        """The state."""
        transcript = transcript_file.pack(self._recorder.releases)
        arrays = {f"release/{name}": value for name, value in transcript.arrays.items()}
        for m, hook in enumerate(self._hooks):
            arrays |= {f"hook/{m}/{name}": value for name, value in hook.memory.items()}
        facts = {
            "sources": [transcript_file.encode(source) for source in self._sources],
            "transcript": transcript.facts,
            "group": self._recorder.group,
            "screened": [hook.screened for hook in self._hooks],
            "budget": None if self._schedule is None else self._schedule.budget.to_json(),
            "payer": None if self._schedule is None else self._schedule.payer,
        }
        return Packed(facts, arrays)

    def unpack(self, packed: Packed) -> Apply:
        """Checks a saved state against this run and gives what applies it.

        Raises:
          CheckpointError: It does not fit, or what was released or paid would be forgotten.
        """
        if self._recorder.releases:
            raise CheckpointError(
                f"the run has made {len(self._recorder.releases)} releases, which would be "
                "forgotten: restore into a new one"
            )
        facts = packed.facts
        clients = len(self._contributions)
        made_with = [transcript_file.decode(source, clients) for source in facts["sources"]]
        if made_with != self._sources:
            raise CheckpointError("it was saved by a run with other noise, clipping or sampling")
        transcript = Packed(facts["transcript"], _under("release/", packed))
        releases = list(transcript_file.unpack(transcript, clients))
        group = validate.count("group", facts["group"], minimum=0)
        if releases and releases[-1].group > group:
            raise CheckpointError(f"the next group is {group}, the last {releases[-1].group}")
        memories = self._check_memories(facts["screened"], packed)
        lost, pay = self._check_budget(facts["budget"], facts["payer"])
        if lost:
            group += bool(releases) and releases[-1].group == group
            releases += self._as_releases(lost, group, releases[-1].round if releases else 1)
            group += len(lost)

        def apply() -> None:
            pay()  # first: a budget that was used in the meantime refuses
            self._recorder.releases = releases
            self._recorder.group = group
            for hook, (screened, memory) in zip(self._hooks, memories, strict=True):
                hook.screened, hook.memory = screened, memory

        return apply

    def _check_memories(
        self, screened: Any, packed: Packed
    ) -> list[tuple[int, dict[str, FloatArray]]]:
        counts = [validate.count("screened", count, minimum=0) for count in screened]
        memories = [_under(f"hook/{m}/", packed) for m in range(len(self._hooks))]
        for hook, memory in zip(self._hooks, memories, strict=True):
            if set(memory) != set(hook.memory):
                raise CheckpointError(f"a client remembers {sorted(memory)}, not what it should")
            if not all(np.isfinite(array).all() for array in memory.values()):
                raise CheckpointError("what a client remembers is not finite")
        return list(zip(counts, memories, strict=True))

    def _check_budget(self, text: Any, payer: Any) -> tuple[list[tuple[int, ...]], Apply]:
        """The groups that were paid for since the save, and what puts the books in place."""
        schedule = self._schedule
        if schedule is None or text is None:
            if schedule is not None or text is not None:
                held = "with a budget" if schedule is None else "without one"
                raise CheckpointError(
                    f"it was saved {held}, the run is not: spending would be lost"
                )
            return [], lambda: None
        terms, saved = bookkeeping.from_json(text)
        budget, now = schedule.budget, schedule.budget.books
        if terms != budget.terms or not isinstance(payer, str):
            raise CheckpointError("it was saved with a budget of other limits")
        taken_over = budget.path is None and now.generation == 0 and now.identity != saved.identity
        if not taken_over and not now.includes(saved):
            raise CheckpointError(
                f"it was saved at booking {saved.generation} of budget {saved.identity}, and the "
                f"budget here is at {now.generation} of {now.identity}: an older one, or another"
            )

        def apply() -> None:
            if taken_over:
                budget.adopt(saved)
            schedule.payer = payer

        present = saved if taken_over else now
        return _since(present.receipts.get(payer, {}), saved.receipts.get(payer, {})), apply

    def _as_releases(
        self, groups: Sequence[tuple[int, ...]], first: int, round_number: int
    ) -> list[Release]:
        """Messages that may have been sent: their facts, without values."""
        found = []
        for number, group in enumerate(groups, first):
            where = {"value": None, "round": round_number, "group": number}
            found += [
                Release(sender=m, source=self._contributions[m], **where)  # type: ignore[arg-type]
                for m in group
            ]
            found.append(Release(sender=SERVER, source=self._server_noise, **where))  # type: ignore[arg-type]
        return found


def _since(now: Mapping[str, int], saved: Mapping[str, int]) -> list[tuple[int, ...]]:
    """The groups in `now` beyond those in `saved`, each as often as it is."""
    return [
        tuple(int(client) for client in group.split(","))
        for group, times in now.items()
        for _ in range(times - saved.get(group, 0))
    ]


def _under(prefix: str, packed: Packed) -> dict[str, Any]:
    return {
        name.removeprefix(prefix): array
        for name, array in packed.arrays.items()
        if name.startswith(prefix)
    }
