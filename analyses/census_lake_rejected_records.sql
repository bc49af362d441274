SELECT status_message, ARRAY_AGG(identifier) AS rejected_records
FROM read_parquet('{{ var("synctrail_lake") }}/sync_tracking_datasets/1/2/3/*.parquet', union_by_name=True)
WHERE status = 'rejected'
GROUP BY 1
