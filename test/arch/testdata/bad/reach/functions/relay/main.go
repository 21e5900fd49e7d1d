package main

import _ "mcprelay/shared/store/local"

func main() {}
