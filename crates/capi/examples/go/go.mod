module lath.example/files

go 1.21
