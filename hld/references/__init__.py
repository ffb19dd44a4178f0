"""What a batch is compared with: the circuit's exact moments, averages over rows, moments of rows with holes."""
