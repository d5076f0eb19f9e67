"""What is known of releases before and after them, all of it public: plans, draws, records of what was done."""
