"""EOPs beside what a GPU executes: the operators, the recorder, and the analysis of what it recorded."""
