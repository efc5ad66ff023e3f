"""Words of the languages that texts are written in. Most of them are not ASCII."""

WORDS = {
    "en": (
        'the a train is late again coffee and rain today we\'ve seen her "best" game so far '
        "can't wait for Friday new album out now thanks everyone 100% agree"
    ),
    "ja": (
        "今日 は 電車 が 遅れて います おはよう ございます "
        "新しい アルバム を 聴いて いる 雨 の 日曜日 楽しみ です ありがとう 東京 から 大阪 まで"
    ),
    "es": "el tren llega tarde otra vez mañana será mejor ¿quién viene? música nueva corazón año",
    "pt": "o trem está atrasado de novo amanhã será melhor música nova coração não são você",
    "de": "der Zug ist schon wieder spät Grüße aus München größer schöner Straße für über Käse",
    "fr": "le train est encore en retard déjà vu où êtes-vous ça va très bien l'été à bientôt",
    "ar": "القطار متأخر مرة أخرى صباح الخير شكرا جزيلا موسيقى جديدة اليوم جميل",
    "ko": "오늘 기차가 또 늦어요 안녕하세요 새로운 음악 감사합니다 비가 와요 주말",
    "tr": "tren yine geç geldi teşekkürler yeni müzik bugün güzel çok yağmur şarkı İstanbul",  # noqa: RUF001
    "it": "il treno è di nuovo in ritardo perché città più bella però così sarà domani",
    "ru": "поезд опять опаздывает доброе утро спасибо новая музыка сегодня дождь хорошо",
    "hi": "ट्रेन फिर देर से है नमस्ते धन्यवाद नया संगीत आज बारिश अच्छा दिन",
    "th": "รถไฟ มาสาย อีกแล้ว สวัสดี ขอบคุณ เพลง ใหม่ วันนี้ ฝนตก",
    "id": "kereta terlambat lagi selamat pagi terima kasih lagu baru hari ini hujan",
    "nl": "de trein is weer te laat goedemorgen bedankt nieuwe muziek vandaag regen één",
    "pl": "pociąg znów się spóźnia dzień dobry dziękuję nowa muzyka dziś deszcz źródło",
    "und": "lol 🎉 🚆 ☔ 👍🏽 ♥ #np \\o/ <3 100 %",
}
LANGUAGES = {name: tuple(words.split(" ")) for name, words in WORDS.items()}
# Some are much more common than others.
COMMON = tuple(name for place, name in enumerate(LANGUAGES) for _ in range(1 + 24 // (place + 1)))
ENGLISH = LANGUAGES["en"]
PEOPLE = (
    "Ana Müller", "Søren Bakke", "Jo O'Neill", "山田 太郎", "Łukasz Nowak", "Zoë Martin",
    "Ivan Петров", "Chloé Dubois", "José Álvarez", "Mary Smith", "Ayşe Öztürk", "Li 小龙",
)  # fmt: skip
