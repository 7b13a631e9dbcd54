"""Equations of state: roots, derivatives in the composition, and the inversions for T and p."""
