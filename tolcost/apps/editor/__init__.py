"""Features of an editor for programs: functions from text to the data to show.

``server`` offers them over the language server protocol and ``playground`` in a browser; no other module here
knows of either.
"""
