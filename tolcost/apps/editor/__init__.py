"""What an editor shows of a program while it is written: functions from text to what is to be shown.

``server`` says it over the language server protocol and ``playground`` in a browser; nothing else here
knows of either.
"""
