// Package peers is test code.
package peers

import _ "os/exec"
