UPDATE jobs SET
  input_tokens = input_tokens + :input_tokens,
  output_tokens = output_tokens + :output_tokens,
  cost_micros = cost_micros + :cost_micros,
  uncertain_micros = uncertain_micros + :uncertain_micros
WHERE id = :id
