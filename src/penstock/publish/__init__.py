"""The steps that make a decided entry visible, and the proof that they are done."""
