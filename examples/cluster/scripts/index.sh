# Work for a while; a gateway that is stopped meanwhile waits for it.
echo "indexing on $(hostname), in $HORAE_HOME"
for part in 1 2 3 4 5; do
  echo "part $part of 5"
  sleep "${HORAE_WITH:-1}"
done
