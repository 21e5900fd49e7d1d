// Package tenants has two tenants at random, in one relay over one store, and
// looks for a word of one in anything that the other is shown or that is recorded
// of it. Then it lets one of them alone and looks for anything that changed.
package tenants
