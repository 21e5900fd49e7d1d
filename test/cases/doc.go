// Package cases holds one test for each odd server and client that was seen in
// the field, by the number of its case. Its tests are the whole package.
package cases
