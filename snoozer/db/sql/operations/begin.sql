-- Enter an act of an operator, before anything is changed; once for each form that is submitted.
-- A second submit of the form waits for the first one's transaction; zero rows then.
INSERT INTO operations (form, act, parameters, actor, reason, request_id)
VALUES (:form, :act, CAST(:parameters AS jsonb), :actor, :reason, :request_id)
ON CONFLICT ON CONSTRAINT uq_operations_form DO NOTHING
RETURNING id
