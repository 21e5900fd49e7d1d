// Package crossed has two agents that use the same ids, names and tokens at the
// same time, and looks for an answer or a notification that reached the other.
package crossed
