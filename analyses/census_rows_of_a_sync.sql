SELECT *
FROM {{ ref('sync_log') }} log
LEFT JOIN {{ ref('source_objects') }} source
ON log.source_object_id = source.id
WHERE log.sync_id = 1234;
