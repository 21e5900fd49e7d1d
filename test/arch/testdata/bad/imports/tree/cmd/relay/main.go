package main

import (
	_ "mcprelay/functions/relay"
	_ "mcprelay/shared/store/local"
)
