dist_man_MANS += man/reeve-plugin.3
dist_man_MANS += man/reeve.8
dist_man_MANS += man/reeve.yaml.5
dist_man_MANS += man/reevectl.1
