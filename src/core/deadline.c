/* A complete binary tree in an array: the leaves are the places, each inner entry is the smaller child. */
#include "core/deadline.h"

static size_t leaves(size_t n)
{
	size_t l = 1;

	while (l < n)
		l *= 2;
	return l;
}

size_t rv_deadline_room(size_t n)
{
	return 2 * leaves(n);
}

void rv_deadline_init(rv_time *tree, size_t n)
{
	for (size_t i = 0; i < rv_deadline_room(n); i++)
		tree[i] = RV_NEVER;
}

rv_time rv_deadline_get(const rv_time *tree, size_t n, size_t place)
{
	return tree[leaves(n) + place];
}

void rv_deadline_set(rv_time *tree, size_t n, size_t place, rv_time due)
{
	size_t i = leaves(n) + place;

	tree[i] = due;
	for (i /= 2; i; i /= 2) {
		rv_time least = tree[2 * i] <= tree[2 * i + 1] ? tree[2 * i] : tree[2 * i + 1];
		if (tree[i] == least)
			break;
		tree[i] = least;
	}
}

rv_time rv_deadline_first(const rv_time *tree)
{
	return tree[1];
}

size_t rv_deadline_place(const rv_time *tree, size_t n)
{
	size_t l = leaves(n), i = 1;

	while (i < l)
		i = 2 * i + (tree[2 * i] == tree[i] ? 0 : 1);
	return i - l;
}
