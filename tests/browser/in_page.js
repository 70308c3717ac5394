// What the tests ask the page itself, so that asking costs the page little.
window.inPage = {
    // What stands left of the code of each cell: "[3]:" for a cell that has run, "[*]:" for one that waits.
    prompts: () =>
        Array.from(document.querySelectorAll(".jp-Notebook .jp-CodeCell .jp-InputPrompt"), each => each.textContent),

    failed: () => document.querySelector(`.jp-Notebook [data-mime-type="application/vnd.jupyter.error"]`) !== null,

    // Before a key press or a click: promise its answer, the milliseconds until another picture, or another card, stands
    // in the page.
    watch(shown, patience) {
        const isPicture = shown.tagName === "IMG", before = isPicture ? shown.src : shown.innerHTML;
        let began = null;
        for (const act of ["keydown", "pointerdown"])
            document.addEventListener(act, () => { began ??= performance.now(); }, {capture: true, once: true});
        inPage.answered = new Promise((resolve, reject) => {
            const done = () => {
                if ((isPicture ? shown.src : shown.innerHTML) !== before) resolve(performance.now() - began);
            };
            const changed = new MutationObserver(
                () => isPicture ? shown.addEventListener("load", done, {once: true}) : done());
            changed.observe(shown, isPicture ? {attributeFilter: ["src"]} : {childList: true, subtree: true});
            setTimeout(() => reject(new Error("the picture did not change")), patience);
        });
        inPage.answered.catch(() => {});
    },

    // Whether something below this cell is wider than its place: there a learner meets a horizontal scrollbar.
    tooWide: cell =>
        Array.from(cell.querySelectorAll(".jp-OutputArea-output, .jp-OutputArea-output *")).some(
            part => part.scrollWidth > part.clientWidth + 1
                && ["auto", "scroll"].includes(getComputedStyle(part).overflowX)),
};
