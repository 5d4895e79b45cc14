// Updates and checks on the dashboard while a page is open. Every page works without it.
"use strict";
(() => {
	const every = 5000; // milliseconds between two looks at who is connected
	const pause = 350; // milliseconds without a key before a change is tried
	const $ = (selector, root = document) => root.querySelector(selector);
	const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

	// Times are shown as they are where the reader is.
	const localTimes = root => {
		for (const t of $$("time[datetime]", root)) {
			const at = new Date(t.dateTime);
			if (!isNaN(at)) {
				t.title = t.textContent;
				t.textContent = at.toLocaleString(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" });
			}
		}
	};

	// The number line shows the range that is being typed.
	const drawDraft = () => {
		const form = $("#range form");
		if (!form) return;
		const [min, max] = [form.elements.active_min, form.elements.active_max].map(i => [Number(i.value), i.value !== i.defaultValue]);
		const changed = min[1] || max[1];
		for (const li of $$(".ruler li")) {
			const logic = Number(li.dataset.logic);
			li.classList.toggle("draft", changed && min[0] <= logic && logic <= max[0]);
		}
	};

	// What is shown may be old: the server does not answer, or the login has expired.
	let fresh = new Date();
	const tell = status => {
		const note = $("#away");
		if (!note) return;
		const ended = status === 401;
		note.hidden = status === 200;
		$("span", note).textContent = (ended ? note.dataset.ended : note.dataset.away) + " " + fresh.toLocaleTimeString(document.documentElement.lang) + ".";
		$("a", note).hidden = !ended;
	};

	// A part of a page, or null where there is none now.
	const part = async (path, options) => {
		try {
			const answer = await fetch(path, { headers: { "Collet-Fragment": "1" }, redirect: "error", ...options });
			tell(answer.status === 401 ? 401 : 200);
			return answer.ok ? await answer.text() : null;
		} catch {
			tell(0);
			return null;
		}
	};

	// What a form would come to is asked for while it is typed.
	const tryForm = form => {
		const place = form.dataset.try ? $(form.dataset.try) : $(".trial", form);
		let timer = 0, asked = 0;
		const ask = async () => {
			const mine = ++asked;
			const text = await part(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) });
			if (mine === asked && text !== null) place.innerHTML = text;
		};
		form.addEventListener("input", () => {
			clearTimeout(timer);
			timer = setTimeout(ask, pause);
			drawDraft();
		});
	};

	// A field that only counts with one choice of another is shown with it alone.
	const depend = field => {
		const [name, value] = field.dataset.when.split("=");
		const other = field.closest("form").elements[name];
		const show = () => { field.hidden = other.value !== value; };
		other.addEventListener("change", show);
		show();
	};

	// Lists of rules grow and shrink.
	const rows = form => {
		const body = $(".rows tbody", form);
		if (!body) return;
		const changed = () => form.dispatchEvent(new Event("input"));
		const drop = row => {
			const next = $("input", row.nextElementSibling || row.previousElementSibling || row);
			if (body.rows.length > 1) row.remove();
			else for (const i of $$("input", row)) i.value = "";
			if (next.isConnected) next.focus();
			changed();
		};
		body.addEventListener("click", e => { if (e.target.closest("[data-drop]")) drop(e.target.closest("tr")); });
		for (const b of $$("[data-drop]", body)) b.hidden = false;
		const more = $("[data-more]", form);
		more.hidden = false;
		more.addEventListener("click", () => {
			const row = body.rows[body.rows.length - 1].cloneNode(true);
			for (const i of $$("input", row)) i.value = "";
			body.append(row);
			$("input", row).focus();
		});
	};

	// The list of connections updates by itself, unless the keyboard focus is in it.
	const follow = live => setInterval(async () => {
		if (document.hidden || live.contains(document.activeElement)) return;
		const text = await part("/admin/live");
		if (text === null || live.contains(document.activeElement)) return;
		const at = $$(".scroll", live).map(s => s.scrollLeft), open = $$("details", live).map(d => d.open);
		live.innerHTML = text;
		$$(".scroll", live).forEach((s, i) => { s.scrollLeft = at[i] || 0; });
		$$("details", live).forEach((d, i) => { d.open = open[i] || false; });
		fresh = new Date();
		tell(200);
		drawDraft();
	}, every);

	// A version on the number line becomes the nearer end of the range.
	const pick = e => {
		const li = e.target.closest(".ruler li"), form = $("#range form");
		if (!li || !form) return;
		const [min, max, at] = [form.elements.active_min, form.elements.active_max, Number(li.dataset.logic)];
		const end = Math.abs(at - min.value) < Math.abs(at - max.value) || at < min.value ? min : max;
		end.value = at;
		$("#range").open = true;
		end.focus({ preventScroll: true });
		form.dispatchEvent(new Event("input"));
	};

	// The number line begins with what is active, where not all of it can be seen.
	const showActive = () => {
		const first = $(".ruler .first");
		if (first) first.closest(".scroll").scrollLeft = first.offsetLeft - 1.5 * first.offsetWidth;
	};

	localTimes(document);
	showActive();
	for (const form of $$("form[data-try]")) tryForm(form);
	for (const form of $$("form")) rows(form);
	for (const field of $$("[data-when]")) depend(field);
	const live = $("#live");
	if (live) {
		follow(live);
		live.addEventListener("click", pick);
	}
	for (const b of $$("[data-sure]")) b.addEventListener("click", e => { if (!confirm(b.dataset.sure)) e.preventDefault(); });
	for (const b of $$("[data-copy]")) {
		b.hidden = !navigator.clipboard;
		b.addEventListener("click", async () => {
			await navigator.clipboard.writeText(document.getElementById(b.dataset.copy).textContent);
			b.textContent = b.dataset.copied;
		});
	}
})();
