"""The journal: numbered entries, their fold, and the append that decides."""
