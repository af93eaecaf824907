"""Other libraries' accountants, asked in their own words and in environments of their own.

`asked` is the script that runs beside a peer, `question` what it is asked, `scoreboard` what its
answers are worth against `accountants.known_answers`.
"""
