-- Forget the address of a person whose account is deleted in the imported jobs, so that their source does not bring
-- them back, and delete the person's shadow jobs.
WITH imported AS (
    UPDATE imported_jobs
    SET user_email = '',
        withdrawn_at = NULL
    WHERE user_email = :user_email
)
DELETE FROM shadow_jobs
WHERE user_email = :user_email
