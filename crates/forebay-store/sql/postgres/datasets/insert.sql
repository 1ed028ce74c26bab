INSERT INTO datasets (tenant, name, version, digest, columns, rows, bytes, created_at, created_by)
VALUES (:tenant, :name, :version, :digest, :columns, :rows, :bytes, :created_at, :created_by)
