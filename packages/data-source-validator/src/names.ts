// SPDX-License-Identifier: Apache-2.0
/** Upstream's names, which are part of the contract. */

/** The name of the program, and the source component of its events. */
export const component = 'volume-data-source-validator';
/** Upstream's lock name, one for the cluster. */
export const lockName = 'data-source-validator-leader';

/** Our own annotation of the event: the kind that is not registered, as `Kind.group`, cut to 256 characters. */
export const kindAnnotation = 'volume-data-source-validator/source-kind';
