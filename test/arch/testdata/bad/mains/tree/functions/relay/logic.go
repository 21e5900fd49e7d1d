package main

func logic() {}
