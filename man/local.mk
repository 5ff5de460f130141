dist_man_MANS += man/reevectl.1
