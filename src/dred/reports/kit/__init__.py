"""What any report is made of: pages, charts, tables, pictures. It knows no report and no run."""
