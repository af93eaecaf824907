"""The columns of UCI Adult, as its own documentation (adult.names) lists them.

The vocabulary is written down, not read from the records: which categories occur at all is then
no data-dependent choice, and the columns are the same for every subset of the records. `?` (not
known) is a category of its own in the three columns that have it.
"""

NUMERIC: dict[str, tuple[float, float]] = {
    "age": (17, 100),
    "fnlwgt": (0, 2_000_000),
    "education-num": (1, 16),
    "capital-gain": (0, 99_999),
    "capital-loss": (0, 10_000),
    "hours-per-week": (1, 99),
}
"""Numeric columns with public bounds: round numbers from what the fields mean (the extract's own
conditions are an age above 16 and more than 0 hours; there are 16 levels of education; the rest
are generous orders of magnitude). Values outside are clipped. Adult is public and well known, so
nobody can show that such bounds owe nothing to its records; the point is that code, not records,
decides them."""

CATEGORICAL: dict[str, tuple[str, ...]] = {
    name: tuple(sorted(values.split()))
    for name, values in {
        "workclass": "? Federal-gov Local-gov Never-worked Private Self-emp-inc Self-emp-not-inc "
        "State-gov Without-pay",
        "education": "10th 11th 12th 1st-4th 5th-6th 7th-8th 9th Assoc-acdm Assoc-voc Bachelors "
        "Doctorate HS-grad Masters Preschool Prof-school Some-college",
        "marital-status": "Divorced Married-AF-spouse Married-civ-spouse Married-spouse-absent "
        "Never-married Separated Widowed",
        "occupation": "? Adm-clerical Armed-Forces Craft-repair Exec-managerial Farming-fishing "
        "Handlers-cleaners Machine-op-inspct Other-service Priv-house-serv Prof-specialty "
        "Protective-serv Sales Tech-support Transport-moving",
        "relationship": "Husband Not-in-family Other-relative Own-child Unmarried Wife",
        "race": "Amer-Indian-Eskimo Asian-Pac-Islander Black Other White",
        "sex": "Female Male",
        "native-country": "? Cambodia Canada China Columbia Cuba Dominican-Republic Ecuador "
        "El-Salvador England France Germany Greece Guatemala Haiti Holand-Netherlands Honduras "
        "Hong Hungary India Iran Ireland Italy Jamaica Japan Laos Mexico Nicaragua "
        "Outlying-US(Guam-USVI-etc) Peru Philippines Poland Portugal Puerto-Rico Scotland South "
        "Taiwan Thailand Trinadad&Tobago United-States Vietnam Yugoslavia",
    }.items()
}
"""Categorical columns with their values, each column's in alphabetical order (spelling as in the
files)."""

FIELDS = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation"),
    *("relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week"),
    *("native-country", "income"),
)
"""The fields of a record, in the order of the files; the last is the class."""

COLUMNS = (
    *NUMERIC,
    *(f"{name}={value}" for name, values in CATEGORICAL.items() for value in values),
)
"""The 108 feature columns: 6 numeric, then 102 of the one-hot code."""
