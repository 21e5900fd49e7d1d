module scales

go 1.26
