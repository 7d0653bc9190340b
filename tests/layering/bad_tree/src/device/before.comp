// Asks for a sum that a compiler gets wrong.
uint before = subgroupExclusiveAdd(1u);
