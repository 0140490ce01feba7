/** For how many days a deleted session can be brought back; 0 for none. The service writes it into the page. */
export const binDays = Number(document.documentElement.dataset.bin ?? 0);
