"""What a process does once: kernels are compiled before they are needed, and functions become methods of circuits."""
