dist_man_MANS += man/reevectl.1
dist_man_MANS += man/reeve.8
dist_man_MANS += man/reeve.yaml.5
