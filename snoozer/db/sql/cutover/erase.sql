-- Delete the jobs of a person whose account is deleted, those that were imported and those of a shadow.
WITH imported AS (
    DELETE FROM imported_jobs
    WHERE user_email = :user_email
)
DELETE FROM shadow_jobs
WHERE user_email = :user_email
