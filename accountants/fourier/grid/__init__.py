"""Any composition of loss laws, by a tilted FFT on a grid."""
