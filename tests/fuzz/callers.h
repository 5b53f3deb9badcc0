/* SPDX-License-Identifier: MIT */
/*
 * Several threads in one: the calls that follow are made under the number of another one, which has an owner slot and
 * a home zone of its own, or shares a slot if the arena has no more; or as from a signal handler inside a call.
 */
#ifndef LFMA_TESTS_FUZZ_CALLERS_H
#define LFMA_TESTS_FUZZ_CALLERS_H

#define CALLERS 8u /* the last one: in a signal handler */

void callers_choose(unsigned caller);

#endif
