wrk.path = "/"
