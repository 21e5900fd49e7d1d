// Package call knows where it was written: /work/main.
package call
