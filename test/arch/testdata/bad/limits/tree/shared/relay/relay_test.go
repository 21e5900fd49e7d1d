package relay_test

import _ "os/exec"
