//! Record batches to leaves and their levels.
