// What Go calls, and what C calls of Go.
long cInner(long n);
long cCallback(long n);
void cSort(int n);
extern long goBack(long n);
