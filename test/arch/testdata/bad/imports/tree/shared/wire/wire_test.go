package wire_test

import _ "mcprelay/shared/relay"
