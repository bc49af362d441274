SELECT *
FROM {{ ref('sync_log') }} log
LEFT JOIN {{ ref('source_objects') }} source
ON log.source_object_id = source.id
WHERE log.sync_run_id = 5678
  AND log.operation = 'delete';
