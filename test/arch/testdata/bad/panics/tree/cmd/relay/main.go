package main

func main() { panic("allowed") }
