// SPDX-License-Identifier: Apache-2.0
/** From then on users only look on, and nothing fails. */
export const turbulenceMs = 120_000;
