// Package faults holds one test for each fault of a server, of its name or of
// the way to it, by the number of its row in the fault matrix. After each call
// the invariants are checked. Its tests are the whole package.
package faults
