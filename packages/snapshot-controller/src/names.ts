// SPDX-License-Identifier: Apache-2.0
/** Names that stand in API objects, spelled as upstream spells them. */
export const lockName = 'snapshot-controller-leader';

/** Source of the events. */
export const component = 'snapshot-controller';
