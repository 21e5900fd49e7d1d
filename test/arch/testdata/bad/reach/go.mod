module mcprelay

go 1.26

require modernc.org/sqlite v0.0.0

replace modernc.org/sqlite => ./sqlite
